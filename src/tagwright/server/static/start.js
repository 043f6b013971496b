// Makes the first page quicker: files that are dropped, languages by their names, results that are copied at once.
import { byId, say } from "./page.js";

const form = byId("ask");

// Languages: named in that of the page; those in which the chosen model has no names cannot be chosen.

const names = new Intl.DisplayNames([document.documentElement.lang], { type: "language", fallback: "code" });
const languages = [...byId("language").options].filter((each) => each.value);

function offerLanguages() {
  const known = byId("model").selectedOptions[0].dataset.languages.split(" ");
  for (const each of languages) each.disabled = !known.includes(each.value);
  if (byId("language").selectedOptions[0].disabled) byId("language").value = "";
}

for (const each of languages) {
  each.textContent = `${names.of(each.value)} (${each.value})`;
}
byId("model").addEventListener("change", offerLanguages);
offerLanguages();

// A file that is dropped is sent at once.

addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});

addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  byId("file").files = event.dataTransfer.files;
  form.requestSubmit();
});

// A result that is opened is selected and copied.

for (const each of document.querySelectorAll(".copies details")) {
  each.addEventListener("toggle", () => {
    if (!each.open) return;
    const text = each.querySelector("textarea");
    text.select();
    if (document.execCommand("copy")) say(text.dataset.said);
  });
}
