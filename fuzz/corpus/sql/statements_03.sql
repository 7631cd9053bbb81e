SELECT a || b && c;
SELECT a->'b'->>'c', a @> b, a !~* b;
SELECT 1 = ANY (SELECT 2), 1 > ALL (a, b), a LIKE ANY ('x', 'y');
SELECT a COLLATE nocase, b AT TIME ZONE 'UTC';
SELECT ARRAY(SELECT 1), EXISTS (SELECT 2), (SELECT 3), NOT EXISTS ((SELECT 4));
SELECT current_date, current_date(), CURRENT_TIMESTAMP AS x;
SELECT left(a, 1), right(b, 1), if(a, b, c), replace(a, b, c);
select sum(case when a then 1 else 0 end) from t;
select * from a, b c join d on a.x=d.x left join e using (y, z) cross join f natural full join g;
select * from a left semi join b on x right anti join c on y semi join d on z
