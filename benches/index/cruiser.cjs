// Settings of dependency-cruiser: every import, types among them, resolved as TypeScript does it.
// CRUISER_CONDITIONS adds conditions of `exports`, as `customConditions` in a tsconfig.json would.
const conditions = (process.env.CRUISER_CONDITIONS ?? '').split(',').filter(Boolean);

module.exports = {
  options: {
    doNotFollow: { path: 'node_modules' },
    moduleSystems: ['es6', 'cjs', 'tsd'],
    tsPreCompilationDeps: true,
    ...(process.env.CRUISER_TSCONFIG ? { tsConfig: { fileName: process.env.CRUISER_TSCONFIG } } : {}),
    enhancedResolveOptions: {
      conditionNames: [...conditions, 'types', 'import', 'require', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.d.ts', '.json'],
    },
  },
};
