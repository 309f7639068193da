export * from './plant';
export * from './mineral.js';
export * from '../dyes';
