// Makes the review quicker: keys, search while typing, no reload. Every step works without it, by forms.
import { byId, localise, rows, say } from "./page.js";

const KEYS_OFF = "tagwright keys off";
const messages = byId("status").dataset;
const current = () => document.activeElement.closest(".row");

// Steps through forms: the page that the server answers takes the place of this one. They are sent one after the other.

let last = Promise.resolve();
let leaving = false; // on the way to the next document, where keys that were meant for this one would do harm

function submit(form, button) {
  if (leaving) return;
  const content = new URLSearchParams(new FormData(form));
  content.set(button.name, button.value);
  leaving = ["done", "skip"].includes(button.value);
  last = last.then(() => send(form, content, button.dataset.said || ""));
}

async function send(form, content, said) {
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: content });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok) throw new Error(page.querySelector(".problem")?.textContent || answer.statusText);
    show(page, answer.url, form, content.get("action"));
    say(said);
  } catch (error) {
    say(`${messages.failed} ${error.message}`, true);
  } finally {
    leaving = false;
  }
}

function show(page, address, sent, action) {
  const isSame = page.getElementById("sheet")?.dataset.number === byId("sheet")?.dataset.number;
  const restore = isSame && action !== "blind" ? remember(sent) : begin; // the suggestions of "blind" are new
  for (const id of ["main", "progress", "languages"]) {
    byId(id).replaceWith(document.adoptNode(page.getElementById(id)));
  }
  document.title = page.title;
  localise();
  offerKeys();
  if (isSame) {
    history.replaceState(null, "", address);
  } else {
    history.pushState(null, "", address);
    window.scrollTo(0, 0);
  }
  restore();
}

// On a new document the suggestion whose evidence is marked has the focus: keys are for it. The text stays at its top.
function begin() {
  const first = keysAreOff() ? null : document.querySelector(".row.on");
  (first || byId("main")).focus({ preventScroll: true });
  document.querySelector(".text")?.scrollTo(0, 0);
}

// Where the reader is in a document: gives what puts them back there on its next page. sent: the form that it answers.
function remember(sent) {
  const active = document.activeElement;
  const row = active.closest(".row")?.id;
  const value = active.matches("button") ? active.value : "";
  const scrolled = document.querySelector(".text").scrollTop;
  const opened = [...document.querySelectorAll(".row details[open]")].map((each) => each.closest(".row").id);
  const isUnfolded = byId("less")?.open;
  const isSearching = active.id === "search" || (active.closest("#found") && !sent.contains(active));
  const search = isSearching ? [byId("search"), byId("found")] : [];
  return () => {
    document.querySelector(".text").scrollTop = scrolled;
    if (isUnfolded) byId("less")?.setAttribute("open", "");
    for (const id of opened) byId(id)?.querySelector("details").setAttribute("open", "");
    for (const each of search) byId(each.id).replaceWith(each);
    if (isSearching) {
      byId("search").focus(); // what was found is shown only while the search has the focus
      active.focus();
      return;
    }
    const same = (value && row && byId(row)?.querySelector(`button[value="${value}"]`)) || byId(row) || byId(active.id);
    (same || byId("search")).focus();
  };
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.classList.contains("search")) {
    event.preventDefault();
    search((wanted += 1));
  } else if (byId("sheet")?.contains(form) && event.submitter) {
    event.preventDefault();
    submit(form, event.submitter);
  }
});

addEventListener("popstate", () => location.reload());

// Search for a label while typing. Keys that come before the answer wait for it: they are meant for its list.

let wanted = 0; // the number of the last search
let answered = 0; // the number of the search whose answer is shown
let timer = 0;
let waiting = []; // keys

const awaitsAnswer = () => answered !== wanted;

document.addEventListener("input", (event) => {
  if (event.target.id !== "search") return;
  wanted += 1;
  waiting = []; // they were meant for another word
  clearTimeout(timer);
  timer = setTimeout(() => search(wanted), 120);
});

async function search(number) {
  clearTimeout(timer);
  const found = byId("found");
  const query = byId("search").value.trim();
  try {
    const answer = await fetch(`${found.dataset.address}?q=${encodeURIComponent(query)}`);
    const text = await answer.text();
    if (number !== wanted) return;
    answered = number;
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(text, "text/html");
    const hadFocus = found.contains(document.activeElement);
    found.replaceChildren(...document.adoptNode(page.body).childNodes);
    if (hadFocus) byId("search").focus(); // or else the next key would be one for the document
    say(found.querySelector("[data-count]")?.textContent || "");
    const keys = document.activeElement.id === "search" ? waiting : [];
    waiting = [];
    keys.forEach(pressInFound);
  } catch {
    if (number !== wanted) return;
    answered = number;
    waiting = [];
    say(messages.silent, true);
  }
}

function pressInFound(key) {
  if (key === "Enter") document.activeElement.closest(".found button")?.click();
  else moveInFound(key === "ArrowDown" ? 1 : -1);
}

function moveInFound(step) {
  const all = [byId("search"), ...document.querySelectorAll(".found button")];
  const next = all.indexOf(document.activeElement) + step;
  if (next >= 0 && next < all.length) all[next].focus();
}

// A training that is under way: its part of the overview is asked for until it has finished.

async function follow() {
  const address = byId("training")?.dataset.running;
  if (!address) return;
  try {
    const answer = await fetch(address, { redirect: "error" });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("training");
    if (answer.ok && found && !found.dataset.running) {
      byId("training").replaceWith(document.adoptNode(found));
      say(byId("outcome").textContent);
    }
  } catch {
    // the server may start again; the next question tells
  }
  setTimeout(follow, 1000);
}

follow();

// Keys.

const keysAreOff = () => localStorage.getItem(KEYS_OFF) !== null;

function move(step) {
  const all = rows();
  const place = current() ? all.indexOf(current()) + step : 0;
  all[Math.max(0, Math.min(place, all.length - 1))]?.focus();
}

function judge(value) {
  const row = current() || rows().find((each) => each.matches(".on")); // the one that looks selected
  const button = row?.querySelector(`button[value="${value}"]`);
  if (!button) {
    say(messages.choose);
    return;
  }
  submit(button.form, button);
  const rest = rows().slice(rows().indexOf(row) + 1);
  (rest.find((each) => !each.classList.contains("accept") && !each.classList.contains("reject")) || row).focus();
}

function press(id) {
  const button = byId(id);
  if (button) submit(button.form, button);
}

// A document is not closed by the key that has just shown its suggestions, unless it comes once more.
function finish() {
  const sheet = byId("sheet");
  if ("unjudged" in sheet.dataset) {
    delete sheet.dataset.unjudged;
    say(messages.unjudged);
  } else press("done");
}

// The less likely suggestions; what has just been hidden does not keep the focus.
function fold() {
  const less = byId("less");
  if (!less) return;
  less.open = !less.open;
  if (less.open) less.querySelector(".row").focus();
  else if (less.contains(document.activeElement)) less.querySelector("summary").focus();
}

const steps = {
  j: () => move(1),
  k: () => move(-1),
  a: () => judge("accept"),
  r: () => judge("reject"),
  u: () => press("undo"),
  s: () => press("skip"),
  Enter: finish,
  "/": () => {
    const search = byId("search");
    search?.focus(); // not every browser gives the focus to what is selected
    search?.select();
  },
  m: fold,
  n: () => {
    byId("note")?.closest("details").setAttribute("open", "");
    byId("note")?.focus();
  },
  "?": () => byId("keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.ctrlKey || event.altKey || event.metaKey || byId("keys")?.open) return;
  if (target.id === "search" || target.closest?.(".found")) {
    if (event.key === "Escape") {
      event.preventDefault();
      waiting = [];
      (rows()[0] || byId("main")).focus();
    } else if (awaitsAnswer() && ["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) {
      event.preventDefault();
      waiting.push(event.key);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      pressInFound(event.key);
    }
    return;
  }
  if (target.matches("input, textarea, select") || keysAreOff()) {
    if (event.key === "Escape" && target.matches("textarea")) target.blur();
    return;
  }
  if (event.key === "Enter" && target.matches("a, button, summary")) return;
  if (/^[0-9]$/.test(event.key)) {
    const row = byId(`row-${Number(event.key) || 10}`);
    row?.closest(".less")?.setAttribute("open", "");
    row?.focus();
    event.preventDefault();
  } else if (Object.hasOwn(steps, event.key) && byId("sheet")) {
    event.preventDefault();
    steps[event.key]();
  } else if (event.key === "?") {
    steps["?"]();
  }
});

if (document.activeElement === document.body && byId("sheet")) begin();

function offerKeys() {
  const button = byId("show-keys");
  if (button) button.hidden = false;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("#show-keys")) byId("keys").showModal();
});

const toggle = byId("use-keys");
if (toggle) {
  offerKeys();
  toggle.checked = !keysAreOff();
  toggle.addEventListener("change", () => {
    if (toggle.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "yes");
  });
}
