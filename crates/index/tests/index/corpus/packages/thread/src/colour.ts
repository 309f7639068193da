export enum Colour {
  Raw,
  Indigo,
}

export const enum Shade {
  Light,
  Dark,
}

export namespace Colour {
  export const names = ['raw', 'indigo'];
}

const hidden = 'export const notThis = 1';
export { hidden as 'the hidden one' };
