// The names every file exports, by the TypeScript compiler: `node names.cjs MODULES REPOSITORY [CONDITION…]`.
// Prints one JSON object: the path of each file, with its names in order.
const fs = require('node:fs');
const path = require('node:path');

const [, , modules, repository, ...customConditions] = process.argv;
const ts = require(path.join(modules, 'typescript'));
const root = fs.realpathSync(repository);

const files = fs
  .readdirSync(root, { recursive: true })
  .filter((file) => /\.([cm]?[jt]s|[jt]sx)$/.test(file) && !file.split(path.sep).includes('node_modules'))
  .sort();
const program = ts.createProgram(
  files.map((file) => path.join(root, file)),
  {
    allowJs: true,
    allowImportingTsExtensions: true,
    customConditions,
    jsx: ts.JsxEmit.Preserve,
    maxNodeModuleJsDepth: 0,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    noEmit: true,
    noLib: true,
    target: ts.ScriptTarget.ESNext,
    types: [],
  },
);
const checker = program.getTypeChecker();
const names = {};
for (const file of files) {
  const source = program.getSourceFile(path.join(root, file));
  const module = source && checker.getSymbolAtLocation(source);
  const exported = module ? checker.getExportsOfModule(module) : [];
  names[file] = [...new Set(exported.map((symbol) => symbol.escapedName.toString()))].sort();
}
process.stdout.write(JSON.stringify(names));
