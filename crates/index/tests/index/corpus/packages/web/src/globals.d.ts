import { Tension } from './weave/tension.mjs';

declare const loom: Tension;
export interface Window {
  loom: Tension;
}
type Quiet = 1;
