const fields = __FIELDS__
const count = __COUNT__

export default function (plop) {
  plop.setGenerator('model', {
    description: 'one interface per model',
    prompts: [],
    actions: Array.from({ length: count }, (_, index) => ({
      type: 'add',
      path: process.cwd() + '/out/{{kebabCase name}}.ts',
      templateFile: 'model.ts.hbs',
      data: { name: 'order_item_m' + index, fields },
    })),
  })
}
