import { plain } from '#fixtures';
import Default, { Web } from '../packages/web/src';

void [plain, Default, Web];
// import './nowhere';
const text = "import './fixtures'";
void text;
