import type { Thread } from '@looms/thread';
import weave, { pattern as twill } from './weave';

export type Props = { threads: Thread[]; name: string };

export function Cloth({ threads, name }: Props) {
  return <table title={name}>{threads.map(weave)}{twill}</table>;
}
