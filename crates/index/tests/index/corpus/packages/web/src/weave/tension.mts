export type Tension = number;
export const tension: Tension = 2;
