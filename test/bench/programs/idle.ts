/** Does nothing: how late its event loop is, is how busy the machine is. */
import { endWithParent } from './end-with-parent.ts';

endWithParent();
