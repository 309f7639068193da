---
inject: true
to: src/reducer.ts
prepend: true
eof_last: false
---
// Reducers
