---
to: "<%= tests ? `models/${h.changeCase.snake(name)}.test.ts` : '' %>"
---
import { columns } from './<%= h.changeCase.snake(name) %>'

describe('<%= Name %>', () => {
  <%_ fields.forEach(function (field) { _%>
  it('has <%= field.split(':')[0] %>', () => {
    expect(columns).toContain('<%= field.split(':')[0] %>')
  })
  <%_ }) _%>
})
