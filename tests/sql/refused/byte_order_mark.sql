-- code: character
-- underlined: ﻿
-- says: U+FEFF
﻿SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits
