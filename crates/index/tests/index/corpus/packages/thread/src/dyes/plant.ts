import { Colour } from '..';

export const woad = Colour.Indigo;
export const madder = () => import('./mineral');
