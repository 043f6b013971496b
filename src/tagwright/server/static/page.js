// What all pages share: messages for screen readers, files that are dropped, the evidence of one suggestion at a time.

export const byId = (id) => document.getElementById(id);
export const rows = () => [...document.querySelectorAll(".row:not(.less:not([open]) *)")];
document.documentElement.classList.add("js");

export function say(text, isProblem = false) {
  const status = byId("status");
  status.className = isProblem ? "problem" : "";
  status.textContent = text;
}

// A text that is copied, with a word about it that goes away. A field that is selected works without a secure context.

export function copySelected(said) {
  if (!document.execCommand("copy")) return;
  say(said);
  byId("status").className = "toast";
  setTimeout(() => byId("status").classList.remove("toast"), 2000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const field = document.createElement("textarea");
  field.value = button.dataset.copy;
  button.after(field);
  field.select();
  copySelected(button.dataset.said);
  field.remove();
  button.focus();
});

// Languages are named in that of the page; times are those of the reader, in the form that the server gives them.

const names = new Intl.DisplayNames([document.documentElement.lang], { type: "language", fallback: "code" });

export function languageName(code) {
  try {
    return names.of(code);
  } catch {
    return code; // not of the form of a code
  }
}

export function localise() {
  for (const each of document.querySelectorAll("[data-language]")) {
    each.textContent = languageName(each.dataset.language);
  }
  for (const each of document.querySelectorAll("time")) {
    each.textContent = new Date(each.dateTime).toLocaleString("sv", { dateStyle: "short", timeStyle: "short" });
  }
}

localise();

// Files: the names of those that are chosen are shown; those that are dropped are sent at once. What is dropped beside
// the zones counts for the first one.

document.addEventListener("change", (event) => {
  const output = event.target.closest(".drop")?.querySelector("output");
  if (output) output.textContent = [...event.target.files].map((each) => each.name).join(", ");
});

const zone = (event) => event.target.closest?.(".drop") || document.querySelector(".drop");

addEventListener("dragover", (event) => {
  if (zone(event) && event.dataTransfer.types.includes("Files")) event.preventDefault();
});

addEventListener("drop", (event) => {
  const input = zone(event)?.querySelector("input");
  if (!input || !event.dataTransfer.files.length) return;
  event.preventDefault();
  input.files = event.dataTransfer.files;
  input.form.requestSubmit();
});

// Only the evidence of one suggestion is marked: the one that has the focus, or is under the pointer.

document.addEventListener("focusin", (event) => {
  const row = event.target.closest(".row");
  if (row) highlight(row, true);
});

document.addEventListener("mouseover", (event) => {
  const row = event.target.closest?.(".row");
  if (row) highlight(row, false);
});

function highlight(row, scroll) {
  const text = document.querySelector(".text");
  let first = null;
  for (const each of rows()) each.classList.toggle("on", each === row);
  for (const mark of document.querySelectorAll("mark")) {
    const on = mark.dataset.ranks.split(" ").includes(row.dataset.rank);
    mark.classList.toggle("on", on);
    if (on && !first) first = mark;
  }
  if (!first || !scroll) return;
  const [place, box] = [first.getBoundingClientRect(), text.getBoundingClientRect()];
  if (place.top < box.top || place.bottom > box.bottom) {
    text.scrollTop += place.top - box.top - box.height / 3;
  }
}
