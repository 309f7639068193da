module.exports = {
  params: ({ args, h }) => ({ ...args, table: h.inflection.tableize(args.name) }),
}
