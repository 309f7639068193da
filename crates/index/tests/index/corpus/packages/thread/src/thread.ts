import { Colour } from './colour.js';
import type { Spin } from '#spin';

export interface Thread {
  colour: Colour;
  spin: Spin;
}

export type Threads = readonly Thread[];

export const { length: longest, ...rest } = [1, 2, 3];
export const [first, , third = 3] = [1, 2, 3];

export function join(a: Thread): Threads;
export function join(a: Thread, b: Thread): Threads;
export function join(...threads: Thread[]): Threads {
  return threads;
}

export default class Plain implements Thread {
  colour = Colour.Raw;
  spin = 'z' as const;
}
