// Formulas: each element of class `math` holds TeX. The speaker's window has none of KaTeX's styles.
for (const element of document.querySelectorAll(".math")) {
  katex.render(element.textContent, element, {
    displayMode: element.classList.contains("display"), throwOnError: false,
    output: element.closest(".notes") ? "mathml" : "htmlAndMathml",
  });
}
