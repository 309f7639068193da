import { Colour, join } from '@looms/thread';
import { woad } from '@looms/thread/dyes/plant';
import type { Props } from '@web/cloth';
import { Cloth } from '@web/cloth';
import legacy = require('./legacy.cjs');

export const Web = (props: Props) => <Cloth {...props} name="export const no = 1" />;
export { Cloth as default, type Props };
export const used = [Colour, join, woad, legacy];
