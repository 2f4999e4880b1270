"""How much of what is asked for `mex search` finds among its first hits, beside what plain indexes find."""
