---
to: "<%= styles === 'none' ? null : `src/components/${h.changeCase.pascal(name)}/${h.changeCase.pascal(name)}.module.${styles}` %>"
unless_exists: true
---
.root {
  display: block;
}
