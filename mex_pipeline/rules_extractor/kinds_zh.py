"""What Chinese words name: a person, a town, an employer, a job, an allergen, a hobby or a wish how to be answered."""

import re

from mex_pipeline.rules_extractor.places import PLACES_ZH, TOWNS_ZH
from mex_pipeline.rules_extractor.value import either, listed
from mex_pipeline.rules_extractor.words import PROGRAMS

_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘"
    "杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段钱汤尹黎易常武乔贺赖龚文庞樊兰殷施"
    "陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦柳邢岳齐梅莫庄辛祝涂谷祁舒耿牟卜詹关苗凌费纪靳盛童欧甄阳裴"
    "卫屈鲍覃霍翁隋甘薄司柏宁柯阮桂闵柴华冉房楚简肖闫滕穆宫郁宗晏佟蓝冷骆"
)
_COMPOUND_SURNAMES = tuple(
    listed("欧阳, 司马, 上官, 诸葛, 东方, 皇甫, 尉迟, 公孙, 慕容, 令狐, 司徒, 夏侯, 端木, 独孤, 南宫")
)
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_LATIN_NAME = re.compile(r"[A-Z][A-Za-z'’-]+(?: [A-Z][A-Za-z'’-]+){0,2}")
_NICKNAME = re.compile(r"小[^时心费样姐弟孩贩组二区]|阿[^姨哥妹]")
_NO_NAME = re.compile(
    either(
        """
        保密, 秘密, 不, 没, 什么, 随便, 重要, 假的, 真的, 一样, 唯一, 标识, 字段, 变量, 必填, 中文, 英文, 拼音, 来$,
        去$, 停, 帮忙, 过来, 出来, 起床, 吃饭, 高手, 高人, 师傅, 老师, 客服, 外卖, 医生, 经理
        """
    )
)

_DISTRICT = re.compile(r".{0,6}(?:省|市|区|县|镇|乡|州|旗|街道)(?:.{1,5}(?:区|县|镇|街道))?")
_TOWN = re.compile(r"[\u4e00-\u9fff]{2,6}(?:省|市|县|区|镇|自治州)")
_NO_TOWN = re.compile(
    either(
        """
        [一二三四五六七八九十两几每各本该同整], 小区, [郊山老城学社景校园厂矿牧营库]区, 生活区, 超市, 夜市, 城市, 股市,
        公司, 附近, 旁边, 里$, 家$
        """
    )
)

_COMPANIES = listed(
    """
    腾讯, 阿里, 阿里巴巴, 蚂蚁, 蚂蚁集团, 字节, 字节跳动, 百度, 美团, 京东, 华为, 小米, 网易, 拼多多, 滴滴, 快手,
    哔哩哔哩, B站, 携程, 小红书, 得物, 米哈游, 微软, 谷歌, 苹果, 亚马逊, 英伟达, 英特尔, 三星, 索尼, 特斯拉, 比亚迪,
    蔚来, 理想汽车, 小鹏, 吉利, 联想, 海尔, 格力, 美的, 顺丰, 中兴, 大疆, 海康威视, 商汤, 旷视, 科大讯飞, 金山, 新浪,
    微博, 搜狐, 知乎, 贝壳, 货拉拉, 平安, 中国移动, 中国电信, 中国联通, 国家电网, 中石油, 中石化, 宁德时代, 富士康
    """
)
_SECTOR = either(
    """
    公司, 集团, 科技, 软件, 网络, 信息, 数据, 智能, 电子, 通信, 半导体, 金融, 银行, 证券, 基金, 保险, 信托, 资本, 物流,
    快递, 医疗, 医药, 制药, 生物, 教育, 文化, 传媒, 影视, 游戏, 娱乐, 能源, 电力, 汽车, 航空, 航天, 地产, 置业, 设计院,
    研究院, 研究所, 实验室, 事务所, 出版社, 报社, 杂志社, 电视台, 医院, 诊所, 大学, 学院, 中学, 小学, 幼儿园, 博物馆,
    图书馆, 税务局, 教育局, 公安局, 法院, 检察院, 酒店, 商城, 电商, 云计算, 云, 重工, 机械, 材料, 化工, 食品, 服饰,
    家居, 咨询, 广告, 工作室, 股份
    """
)
_COMMON = either(
    """
    当前, 目前, 现在, 原来, 上一?家, 自家, 新, 老, 大, 小, 中, 大型, 小型, 中型, 国有, 私营, 民营, 外资, 合资, 本地,
    当地, 省级?, 市级?, 县级?, 三甲, 公立, 私立, 上市, 创业, 初创, 传统, 互联网, 培训, 房地产, 建筑, 设计, 外包, 外贸,
    贸易, 服装, 装修, 会计师?, 律师, 人民, 中心, 附属, 妇幼, 儿童, 专科, 综合, 职业, 技术, 师范, 理工, 医科, 实验, 重点,
    普通, 高等
    """
)
_ORGANISATION = re.compile(rf"[\w·&. ]{{2,16}}{_SECTOR}")
_ANY_ORGANISATION = re.compile(rf"(?:{_COMMON}|{_SECTOR})*{_SECTOR}")
_UNNAMED = re.compile(r"[一两几某各每本该][家个所]|的|[私国外民]企|[大小]厂")
_EMPLOYER = re.compile(
    rf"[一某]?[家所个].*(?:{_SECTOR}|企业|机构|学校|工厂|[私国外民]企|[大小]厂)|[私国外民]企|[大小]厂"
)

_QUALIFIER = either(
    """
    高级, 资深, 初级, 中级, 首席, 助理, 实习, 全职, 兼职, 自由, 独立, 专职, 高中, 初中, 小学, 中学, 大学, 幼儿园, 数据,
    数据库, 大数据, 算法, 后端, 前端, 全栈, 客户端, 移动端, 服务端, 软件, 硬件, 嵌入式, 机械, 电气, 电子, 自动化, 结构,
    土木, 化工, 材料, 工艺, 质量, 安全, 网络, 系统, 平台, 云, 云原生, 基础架构, 架构, 运维, 测试, 自动化测试, 游戏,
    图形, 音视频, 推荐, 搜索, 广告, 机器学习, 深度学习, 人工智能, 自然语言处理, 视觉, 芯片, 产品, 项目, 市场, 品牌,
    销售, 渠道, 区域, 运营, 内容, 用户, 增长, 电商, 新媒体, 短视频, 人力资源, 人事, 招聘, 行政, 财务, 税务, 成本, 法务,
    法律, 投资, 金融, 证券, 保险, 风控, 量化, 交易, 采购, 供应链, 物流, 仓储, 技术, 研发, 开发, 设计, 平面, 视觉, 交互,
    室内, 服装, 工业, 建筑, 园林, 城市, 语文, 数学, 英语, 物理, 化学, 生物, 历史, 地理, 政治, 体育, 美术, 音乐, 舞蹈,
    钢琴, 编程, 健身, 瑜伽, 游泳, 心理, 心理咨询, 营养, 内科, 外科, 儿科, 妇产科, 牙科, 口腔, 眼科, 骨科, 皮肤科, 急诊,
    急诊科, 麻醉, 中医, 西医, 全科, 住院, 主治, 网约车, 出租车, 卡车, 货车, 公交, 外贸, 商务, 程序, 咨询, 管理, 业务,
    信息, 安卓, 爬虫, 区块链, 自动驾驶, 机器人, 医学, 科学, 图书, 文字, 视频, 摄影, 同声, 英文, 日语
    """
)
_LATIN_QUALIFIER = r"(?:[A-Za-z][\w+#.]{0,11}\s?)"
_PREFIX = rf"(?:{_QUALIFIER}|{_LATIN_QUALIFIER}){{0,4}}"
_TITLE = re.compile(
    _PREFIX
    + either(
        """
        工程师, 开发者, 开发人员, 设计师, 架构师, 程序员, 程序猿, 分析师, 科学家, 研究员, 经理, 总监, 主管, 教师, 老师,
        讲师, 教授, 班主任, 辅导员, 医生, 大夫, 医师, 护士, 护士长, 药师, 药剂师, 律师, 法官, 检察官, 警察, 民警, 会计,
        会计师, 审计师, 精算师, 出纳, 记者, 编辑, 作家, 编剧, 翻译, 译者, 摄影师, 画家, 画师, 插画师, 音乐人, 歌手,
        演员, 导演, 厨师, 面点师, 烘焙师, 咖啡师, 调酒师, 司机, 快递员, 外卖员, 骑手, 销售员, 销售, 客服, 公务员, 军人,
        消防员, 飞行员, 空乘, 导游, 店长, 店主, 创业者, 自由职业者, 自由撰稿人, 咨询师, 顾问, 教练, 技师, 技术员, 电工,
        木工, 农民, 兽医, 牙医, 建筑师, 造价师, 规划师, 理疗师, 营养师, 美容师, 理发师, 发型师, 化妆师, 主播, 博主,
        博士后, 负责人, 管理员, 专员, CEO, CTO, CFO, COO, HR, HRBP, DBA, SRE
        """
    )
)
_TRADE = re.compile(
    _PREFIX
    + either(
        """
        开发, 研发, 前端, 后端, 全栈, 运维, 测试, 算法, 产品, 运营, 策划, 文案, 设计, 数据分析, 数据挖掘, 机器学习,
        人事, 行政, 财务, 审计, 市场, 采购, 供应链, 教学, 科研, 咨询, 法务, 投资, 风控, 交易, 售前, 售后, 新媒体, 硬件,
        嵌入式, 安卓, 架构
        """
    )
)
_NO_POST = re.compile(r"的|[做搞写管改]|负责|帮|想|一个|随便|虚|闲|忙|不|没|很|最|好|坏")
_STUDENT = re.compile(
    r"(?:在校|在读|全日制|[\u4e00-\u9fff]{2,6}(?:系|专业|大学|学院))?的?(?:大[一二三四]|研[一二三]|高[一二三]|初[一二三])?"
    + either("学生, 大学生, 研究生, 本科生, 硕士生?, 博士生?, 高中生, 初中生, 留学生, 应届生, 应届毕业生")
    + r"|大[一二三四]|研[一二三]|高[一二三]|初[一二三]"
)

_NO_ALLERGEN = re.compile(
    either(
        """
        代码, 加班, 开会, 会议, 周一, 上班, 工作, 学习, 数学, 考试, 废话, 套话, 八股, PPT, 需求, 领导, 老板, 同事, 甲方,
        鸡汤, 营销, 话题, 说法, 做法, 不$, 曾, 以前, 人类, 社交, 异性, 相亲, 早起, 内卷, 类似, 等等, 有些, 某, 很多,
        一切, 所有, [bB]ug, BUG
        """
    )
)
_NO_FOOD = re.compile(
    r"^"
    + either(
        """
        饭, 早饭, 午饭, 晚饭, 中饭, 药, 醋, 软, 硬, 亏, 素, 苦$, 香$, 老本, 不, 了, 到, 完, 下, 上, 透, 准, 消, 得, 起,
        饱, 惯, 掉, 太, 多, 点, 东西, 一套, 套路, 回头草, 窝边草, 一, 任何, 什么
        """
    )
)
_NO_HOBBY = re.compile(
    "^"
    + either(
        """
        用, 把, 先, 直接, 在, 让, 被, 跟, 和, 对, 给, 从, 按, 照, 吃, 喝, 睡, 说, 问, 叫, 去, 来, 一边, 边, 简单, 简洁,
        安静, 清静, 一个人, 有, 没, 不, 更, 很, 比较, 以, 尽量, 就, 能
        """
    )
    + "|"
    + either(
        "代码, 测试, 方案, 方法, 写法, 风格, 回答, 报错, 接口, 函数, 框架, 工具$, 版本, 文档, 需求, 广泛, 很多, 不多, 比较多"
    )
)

_SERVES = re.compile(
    either(
        """
        回答, 回复, 答复, 答案, 解释(?!器|型|性), 讲解, 结论, 简短, 简洁, 精简, 精炼, 啰嗦, 废话, 长话短说, 语气, 口吻,
        表情符号, emoji, 称呼我, 叫我, [用说讲](?:简体|繁体)?(?:中文|英文|英语|日语|粤语|普通话|大白话), 一步一步, 列表,
        分点, 举例, [跟和]我说话, 跟我聊
        """
    )
)
_NO_WISH = re.compile(
    either(
        """
        扮演, 角色, 你是, 像.*一样, 作为, 假装, 起床, 叫我[来去过吃睡停], 叫我一[声下], [复答释][他她它], 用户, 客户,
        邮件, 评论, 接口, 函数, 页面, 数据库, 按钮, 返回
        """
    )
)


def is_name(text: str) -> bool:
    """True for a person's name: two to four characters led by a surname, 小明, or Latin words with capitals."""
    if _LATIN_NAME.fullmatch(text):
        return text.lower() not in PROGRAMS
    if not _HAN.fullmatch(text) or _NO_NAME.search(text):
        return False
    if _NICKNAME.fullmatch(text):
        return True
    return (2 <= len(text) <= 3 and text[0] in _SURNAMES) or (
        3 <= len(text) <= 4 and text.startswith(_COMPOUND_SURNAMES)
    )


def is_called(text: str) -> bool:
    """True for any short name: "我的名字是" needs no surname to be believed."""
    bare = text.replace("·", "")
    return is_name(text) or (len(bare) >= 2 and _HAN.fullmatch(bare) is not None and not _NO_NAME.search(text))


def is_place(text: str) -> bool:
    """True for a known place, one with its district, or what ends as towns and districts do."""
    if text in PLACES_ZH:
        return True
    if _LATIN_NAME.fullmatch(text):
        return text.lower() not in PROGRAMS
    halves = ((text[:length], text[length:]) for length in range(2, min(8, len(text))))
    return any(place in PLACES_ZH and _is_inside(rest) for place, rest in halves) or (
        _TOWN.fullmatch(text) is not None and not _NO_TOWN.search(text)
    )


def _is_inside(rest: str) -> bool:
    """True for the town or district named behind a province or a town."""
    return rest in PLACES_ZH or (_DISTRICT.fullmatch(rest) is not None and not _NO_TOWN.search(rest))


def is_origin(text: str) -> bool:
    """True for a town or province one can come from; a country is no hometown."""
    return text in TOWNS_ZH or (text.endswith(("省", "市", "县")) and is_place(text))


def is_organisation(text: str) -> bool:
    """True for the name of an employer: known, ending as such names do, or Latin with a capital."""
    if text in PLACES_ZH or _UNNAMED.search(text) or _ANY_ORGANISATION.fullmatch(text):
        return False
    if _LATIN_NAME.fullmatch(text):
        return text.lower() not in PROGRAMS
    return text.lower() in _COMPANIES or _ORGANISATION.fullmatch(text) is not None


def is_employer(text: str) -> bool:
    """True for where one can hold a job, named or not ("一家互联网公司"); a terminal is none."""
    return is_organisation(text) or _EMPLOYER.fullmatch(text) is not None


def is_title(text: str) -> bool:
    """True for a job one can be."""
    return _TITLE.fullmatch(text) is not None


def is_work(text: str) -> bool:
    """True for a job one can be or a trade one can do."""
    return is_title(text) or _TRADE.fullmatch(text) is not None


def is_post(text: str) -> bool:
    """True for what "我的岗位是" may name: any short noun."""
    return is_work(text) or (_HAN.fullmatch(text) is not None and 2 <= len(text) <= 8 and not _NO_POST.search(text))


def is_student(text: str) -> bool:
    """True for a stage of school or study."""
    return _STUDENT.fullmatch(text) is not None


def is_allergen(text: str) -> bool:
    """True unless the allergy is a figure of speech."""
    return not _NO_ALLERGEN.search(text) and text.lower() not in PROGRAMS


def is_food(text: str) -> bool:
    """True unless "不吃…" is an idiom or a skipped meal."""
    food = text.removeprefix("不吃").strip()
    return bool(food) and not _NO_FOOD.search(food)


def is_hobby(text: str) -> bool:
    """True unless the words tell how somebody works or eats."""
    return not _NO_HOBBY.search(text) and text.lower() not in PROGRAMS


def is_wish(text: str) -> bool:
    """True for words about how to be answered that give no role to play."""
    return _SERVES.search(text) is not None and not _NO_WISH.search(text)
