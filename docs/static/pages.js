// Code, tables and drawings that scroll in themselves can be reached by keys; the two side bars have names.

function offerKeys() {
  for (const each of document.querySelectorAll("article :is(pre, .table-wrapper, .math-wrapper, p:has(> img))")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", () => {
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
  offerKeys();
});
addEventListener("resize", offerKeys);
