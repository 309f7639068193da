import { tension } from './tension.mjs';

export { pattern } from './pattern';

const weave = (thread: unknown) => [thread, tension];
export default weave;
