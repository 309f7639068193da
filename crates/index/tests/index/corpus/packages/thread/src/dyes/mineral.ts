export const ochre = 1;
export default ochre;
