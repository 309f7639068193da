export * from './models';
// cards
