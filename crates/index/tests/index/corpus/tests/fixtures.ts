/// <reference path="../packages/web/src/ambient.d.ts" />
import Plain from '../packages/thread/src/thread.js';

export const plain = new Plain();
