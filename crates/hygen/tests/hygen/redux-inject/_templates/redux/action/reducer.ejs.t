---
inject: true
to: src/reducer.ts
before: "default:"
eof_last: false
---
    case <%= h.changeCase.constant(name) %>:
      return { ...state, <%= h.changeCase.camel(name) %>: action.payload }
