import { spinning } from '@looms/thread';
import * as colours from '@looms/thread/colour';

void [spinning, colours];
export {};
