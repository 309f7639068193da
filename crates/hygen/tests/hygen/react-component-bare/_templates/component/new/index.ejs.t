---
to: src/components/<%= h.changeCase.pascal(name) %>/index.ts
---
export * from './<%= h.changeCase.pascal(name) %>'
