---
inject: true
to: src/reducer.ts
after: from 'redux'
eof_last: false
---
import { <%= h.changeCase.camel(name) %> } from './actions'
