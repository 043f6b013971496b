// Makes the first page quicker: languages by their names, results that are copied at once.
import { byId, copySelected, languageName } from "./page.js";

// Languages: those in which the chosen model has no names cannot be chosen.

const languages = [...byId("language").options].filter((each) => each.value);

function offerLanguages() {
  const known = byId("model").selectedOptions[0].dataset.languages.split(" ");
  for (const each of languages) each.disabled = !known.includes(each.value);
  if (byId("language").selectedOptions[0].disabled) byId("language").value = "";
}

for (const each of languages) {
  each.textContent = `${languageName(each.value)} (${each.value})`;
}
byId("model").addEventListener("change", offerLanguages);
offerLanguages();

// A result that is opened is selected and copied.

for (const each of document.querySelectorAll(".copies details")) {
  each.addEventListener("toggle", () => {
    if (!each.open) return;
    const text = each.querySelector("textarea");
    text.select();
    copySelected(text.dataset.said);
  });
}
