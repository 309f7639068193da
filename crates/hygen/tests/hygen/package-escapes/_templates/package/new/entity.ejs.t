---
to: packages/<%= name %>/src/entity.ts
---
@Entity()
@Component({ selector: '<%= name %>' })
export class <%= h.changeCase.pascal(name) %> {
  @Input() value: string
  @output() other: string
  @if(this.is.no.tag)
  @end
  text = `${this.value} {{ value }} {{{ raw }}} @{{ x }}`
}
<!-- <%= Name %> -->
