declare const shuttle: number;
declare module 'untyped' {
  export const anything: unknown;
}
