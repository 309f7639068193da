export type Spin = 's' | 'z';
export declare const spun: Spin;
export abstract class Wheel {
  abstract turn(): Spin;
}
