module.exports = { params: () => ({ fields: __FIELDS__ }) }
