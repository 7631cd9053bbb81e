CREATE VIEW z (a, b COMMENT 'C= a, b,,b 'CcREATE VIEW z (a, b COMMENT 'C= a, b, cb', c COMMENT 'c') AS S c COMMENT 'c') AS SELECT a, b, c FROM d
