export const pattern: import('./tension.mjs').Tension = 1;
