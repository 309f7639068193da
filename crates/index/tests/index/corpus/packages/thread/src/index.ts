export * from './thread.js';
export * from './dyes/index.js';
export { Colour, type Shade as Tint } from './colour.js';
export * as spinning from './spin';
export { default as defaultThread } from './thread';
