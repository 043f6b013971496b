"""Ask a language model, if the user has one: any server that speaks OpenAI's chat completions, by its address."""
