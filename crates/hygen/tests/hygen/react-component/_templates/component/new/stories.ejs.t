---
to: "<%= story ? `src/components/${h.changeCase.pascal(name)}/${h.changeCase.pascal(name)}.stories.tsx` : null %>"
---
import { <%= h.changeCase.pascal(name) %> } from './<%= h.changeCase.pascal(name) %>'

export default { title: '<%= h.inflection.titleize(name) %>' }
