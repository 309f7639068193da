---
to: .github/workflows/<%= name %>.yml
---
name: <%= name %>
on: [push]
jobs:
  test:
    runs-on: ${{ matrix.os }}
    env:
      TOKEN: ${{ secrets.TOKEN }}
      NAME: ${<%= h.changeCase.constant(name) %>}
