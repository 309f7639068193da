// The three shapes on Restate: `node restate_peer.mjs SHAPE COUNT INGRESS ADMIN`, the URLs of a server.
//
// Serves the steps to that server and calls them through it. Prints one JSON line: the steps taken, the
// seconds they took (start-up and one small run before left out) and the results that arrived at the end.
// `fan-out` is one handler that runs every item as a durable step and awaits all of them together;
// `portions` awaits as many together as Drawloom has items under way, which is faster. Items as calls of
// a service of their own were tried, too: slower than either.
import { createServer } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import * as restate from '@restatedev/restate-sdk'

const CHAIN_STEPS = 10
const CONCURRENCY = 8
const PORTION = 256
const WARM_UP = 5
const SERVER_TRIES = 150
const SERVER_PAUSE_MS = 200

const [shape, countText, ingress, admin] = process.argv.slice(2)

const step = (ctx, number) => ctx.run(`step${number}`, () => ({ ok: true, number }))

async function steps(ctx, from, to) {
  const results = []
  for (let number = from; number < to; number++) results.push(step(ctx, number))
  return (await restate.RestatePromise.all(results)).filter((result) => result.ok).length
}

const shapes = restate.service({
  name: 'shapes',
  handlers: {
    chain: async (ctx) => {
      let done = 0
      for (let index = 0; index < CHAIN_STEPS; index++) done += Number((await step(ctx, index)).ok)
      return done
    },
    fanOut: (ctx, items) => steps(ctx, 0, items),
    portions: async (ctx, items) => {
      let done = 0
      for (let from = 0; from < items; from += PORTION) {
        done += await steps(ctx, from, Math.min(items, from + PORTION))
      }
      return done
    },
    loop: async (ctx, rounds) => {
      let number = 0
      while (number < rounds) number = (await step(ctx, number)).number + 1
      return number
    },
  },
})

async function call(url, body) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}

const handler = (name, given) => call(`${ingress}/shapes/${name}`, given)

async function chains(count) {
  let started = 0
  let done = 0
  const caller = async () => {
    while (started < count) {
      started += 1
      const taken = await handler('chain', null)
      done += taken
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, caller))
  return done
}

const runs = {
  chain: [chains, CHAIN_STEPS],
  'fan-out': [(count) => handler('fanOut', count), 1],
  portions: [(count) => handler('portions', count), 1],
  loop: [(count) => handler('loop', count), 1],
}

async function register() {
  const endpoint = restate.endpoint().bind(shapes)
  const server = createServer(endpoint.http2Handler())
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  const deployment = { uri: `http://127.0.0.1:${server.address().port}`, force: true }
  for (let tries = 1; ; tries++) {
    try {
      return await call(`${admin}/deployments`, deployment)
    } catch (error) {
      if (tries === SERVER_TRIES) throw error
      await sleep(SERVER_PAUSE_MS)
    }
  }
}

const count = Number(countText)
const [run, stepsEach] = runs[shape]
await register()
await run(WARM_UP)
const began = process.hrtime.bigint()
const done = await run(count)
const seconds = Number(process.hrtime.bigint() - began) / 1e9
console.log(JSON.stringify({ steps: count * stepsEach, done, seconds }))
process.exit(0)
