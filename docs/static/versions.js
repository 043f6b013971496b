// A choice of the version of these pages, where versions.json lies beside their folder: docs/versions.py writes it.
"use strict";

addEventListener("DOMContentLoaded", async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const sidebar = document.querySelector(".sidebar-sticky");
  if (!root.protocol.startsWith("http") || !sidebar) return;
  const reply = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!reply?.ok) return;
  const versions = await reply.json();
  const shown = root.pathname.split("/").at(-2);
  const choice = document.createElement("select");
  choice.className = "versions";
  choice.setAttribute("aria-label", "Version of these pages");
  for (const each of versions.includes(shown) ? versions : [shown, ...versions]) {
    choice.add(new Option(each, each, each === shown, each === shown));
  }
  choice.addEventListener("change", async () => {
    const other = new URL(`../${choice.value}/`, root);
    const page = new URL(location.href.slice(root.href.length), other);
    const found = await fetch(page, { method: "HEAD" }).catch(() => null);
    location.assign(found?.ok ? page : other); // an older version may lack the page
  });
  sidebar.querySelector(".sidebar-brand").after(choice);
});
