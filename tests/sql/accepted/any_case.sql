-- space: line
-- lipschitz: A=25
-- range: A=0..1
select with emd_privacy options (ALPHA = 1) avg(ramp(PRICE, 0, 2)) as A from VISITS
