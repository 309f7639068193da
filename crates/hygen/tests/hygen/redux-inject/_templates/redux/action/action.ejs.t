---
inject: true
to: src/actions.ts
append: true
skip_if: <%= h.changeCase.camel(name) %>
eof_last: false
---
export const <%= h.changeCase.camel(name) %> = createAction('<%= h.changeCase.constant(name) %>')
