// Renders a template with edge.js, cache on, async and sync: `node edge.mjs FOLDER TEMPLATE ITEMS OUTPUT`.
// Prints one JSON line for each way with its fastest and its median render in microseconds.
import { readFileSync, writeFileSync } from 'node:fs'
import { Edge } from 'edge.js'

const WARM_UP = 300
const TIMED = 700

const [folder, template, itemsFile, outputFile] = process.argv.slice(2)
const state = { items: JSON.parse(readFileSync(itemsFile, 'utf8')) }
const edge = Edge.create({ cache: true })
edge.mount(folder)

const microseconds = (from) => Number(process.hrtime.bigint() - from) / 1000

function report(engine, times) {
  times.sort((a, b) => a - b)
  const line = { engine, min_us: times[0], median_us: times[times.length >> 1] }
  console.log(JSON.stringify(line))
}

const times = { async: [], sync: [] }
let output
for (let round = 0; round < WARM_UP + TIMED; round++) {
  const start = process.hrtime.bigint()
  output = await edge.render(template, state)
  if (round >= WARM_UP) times.async.push(microseconds(start))
}
for (let round = 0; round < WARM_UP + TIMED; round++) {
  const start = process.hrtime.bigint()
  output = edge.renderSync(template, state)
  if (round >= WARM_UP) times.sync.push(microseconds(start))
}
const name = template === 'raw' ? 'edge.js raw' : 'edge.js'
report(`${name}, cached, async`, times.async)
report(`${name}, cached, sync`, times.sync)
writeFileSync(outputFile, output)
