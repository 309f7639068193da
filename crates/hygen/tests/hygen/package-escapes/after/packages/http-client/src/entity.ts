@Entity()
@Component({ selector: 'http-client' })
export class HttpClient {
  @Input() value: string
  @output() other: string
  @if(this.is.no.tag)
  @end
  text = `${this.value} {{ value }} {{{ raw }}} @{{ x }}`
}
<!-- Http-client -->
