module.exports = [
  { type: 'input', name: 'name', message: "What's the component called?" },
  { type: 'confirm', name: 'story', message: 'Does it need a story?' },
  {
    type: 'select',
    name: 'styles',
    message: 'How is it styled?',
    choices: ['css', 'scss', 'none'],
    initial: 'css',
  },
  {
    type: 'multiselect',
    name: 'hooks',
    message: 'Which hooks?',
    choices: [{ name: 'state', message: 'useState' }, { name: 'effect', message: 'useEffect' }],
  },
]
